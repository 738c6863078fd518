// Shows and hides the series of a picture; without this script all are shown.
for (const switches of document.querySelectorAll(".switches")) {
  switches.hidden = false;
  switches.addEventListener("change", ({ target }) => {
    for (const series of switches.parentElement.querySelectorAll(`[id*=".series.${target.value}."]`)) {
      series.style.display = target.checked ? "" : "none";
    }
  });
}
